import { createCatalogue, type Catalogue } from './engine/models/catalogue.ts';
import { createDemoModel } from './engine/models/demo-model.ts';
import type { CatalogueEntry } from './engine/models/catalogue-data.ts';
import type { Clock } from './core/clock.ts';
import type { Config } from './config.ts';

/** The models of these settings. @throws ConfigurationError  The default model can never be served. */
export function openCatalogue({ models, demo }: Config, clock: Clock): Catalogue {
  return createCatalogue({
    entries: models.catalogue.map(catalogueEntry),
    providers: models.credentials,
    order: models.providers,
    demo: createDemoModel({ clock, speed: demo.speed }),
    ...(models.default === null ? {} : { defaultModel: models.default }),
  });
}

/** An entry of the settings: what it does not say is unknown. */
function catalogueEntry(entry: Config['models']['catalogue'][number]): CatalogueEntry {
  const { id, label = id, providers, contextTokens = null, maxOutputTokens = null } = entry;
  return { id, label, names: providers, contextTokens, maxOutputTokens, accepts: ['text/*'] };
}

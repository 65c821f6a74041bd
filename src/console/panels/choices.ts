// What can be chosen for the next turn, and why not (C-047). Pure.

import type { Catalogue, ConsoleState } from '../state/state.ts';

export interface Choice {
  readonly value: string;
  readonly label: string;
  /** In a word or two beside it; null: nothing. */
  readonly mark: string | null;
  /** Why it cannot be chosen; null: it can. */
  readonly why: string | null;
}

export interface Choices {
  readonly harnesses: readonly Choice[];
  readonly harness: string | null;
  readonly models: readonly Choice[];
  readonly model: string | null;
}

const stays = 'Not here: a session stays with its harness. Begin a new one to change.';

type Chosen = Pick<ConsoleState, 'catalogue' | 'composer' | 'session' | 'sessions'>;

export function choicesOf({ catalogue, composer, session, sessions }: Chosen): Choices {
  // A session stays with the harness that began it.
  const bound = session.kind === 'open' && composer.fork?.kind !== 'start';
  const begunBy = bound ? sessions.items.find(({ id }) => id === session.id)?.harness_id : undefined;
  const harness = begunBy ?? composer.harness ?? preferred(catalogue)?.id ?? null;
  const configured = catalogue.harnesses.map(({ id, name, base, baseLabel }): Choice => {
    const why = whyNot(catalogue, base) ?? (bound && id !== harness ? stays : null);
    return { value: id, label: name === '' ? baseLabel : name, mark: name === baseLabel ? null : baseLabel, why };
  });
  const missing = (catalogue.models?.reins_not_installed ?? [])
    .filter((each) => catalogue.harnesses.every(({ base }) => base !== each.base))
    .map(({ base, label, why }): Choice => ({ value: base, label, mark: null, why }));
  const own = catalogue.harnesses.find(({ id }) => id === harness);
  const backend = catalogue.models?.backends[own?.base ?? ''];
  const models = (backend?.models ?? []).map(({ id, label, available, reins_why }): Choice => ({
    value: id,
    label,
    mark: isReasoner(id) ? 'reasoning' : null,
    why: available ? null : (reins_why ?? 'Not now: this server has no key, or the provider does not answer.'),
  }));
  return {
    harnesses: [...configured, ...missing],
    harness,
    models,
    model: composer.model ?? own?.defaultModel ?? backend?.default ?? null,
  };
}

function preferred(catalogue: Catalogue) {
  return catalogue.harnesses.find(({ base }) => whyNot(catalogue, base) === null) ?? catalogue.harnesses[0];
}

/** What keeps tasks from this base; null: nothing that is known. */
function whyNot({ models }: Pick<Catalogue, 'models'>, base: string): string | null {
  if (models === null) return null;
  const missing = models.reins_not_installed?.find((each) => each.base === base);
  if (missing !== undefined) return missing.why;
  const served = models.backends[base]?.models ?? [];
  if (served.some(({ available }) => available)) return null;
  return (
    served.find(({ reins_why }) => reins_why !== undefined)?.reins_why ?? 'Not now: this server has no model for it.'
  );
}

/** By its name, as the server goes by it too. */
function isReasoner(id: string): boolean {
  return /reasoning|thinking/i.test(id) && !/non-?reasoning/i.test(id);
}

/** What stands on the button: the harness only where there are others to be had. */
export function chosenText({ harnesses, harness, models, model }: Choices): string {
  const named = models.find(({ value }) => value === model)?.label ?? model;
  const had = harnesses.filter(({ why }) => why === null || why === stays);
  const other = had.length > 1 ? harnesses.find(({ value }) => value === harness)?.label : undefined;
  return [named, other].filter((each) => each !== undefined && each !== null).join(' · ');
}

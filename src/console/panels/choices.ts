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

type Chosen = Pick<ConsoleState, 'catalogue' | 'composer' | 'session' | 'sessions'>;

export function choicesOf({ catalogue, composer, session, sessions }: Chosen): Choices {
  // A session stays with the harness that began it.
  const bound = session.kind === 'open' && composer.fork?.kind !== 'start';
  const begunBy = bound ? sessions.items.find(({ id }) => id === session.id)?.harness_id : undefined;
  const harness = begunBy ?? composer.harness ?? preferred(catalogue)?.id ?? null;
  const harnesses = catalogue.harnesses.map(({ id, name, base, baseLabel }): Choice => {
    const taken =
      bound && id !== harness ? 'Not here: a session stays with its harness. Begin a new one to change.' : null;
    const why = isServed(catalogue, base) ? taken : 'Not now: this server has no model for it.';
    return { value: id, label: name === '' ? baseLabel : name, mark: name === baseLabel ? null : baseLabel, why };
  });
  const own = catalogue.harnesses.find(({ id }) => id === harness);
  const backend = catalogue.models?.backends[own?.base ?? ''];
  const models = (backend?.models ?? []).map(({ id, label, available }): Choice => ({
    value: id,
    label,
    mark: isReasoner(id) ? 'reasoning' : null,
    why: available ? null : 'Not now: this server has no key, or the provider does not answer.',
  }));
  return { harnesses, harness, models, model: composer.model ?? own?.defaultModel ?? backend?.default ?? null };
}

function preferred({ harnesses, models }: Catalogue) {
  return harnesses.find(({ base }) => isServed({ models }, base)) ?? harnesses[0];
}

function isServed({ models }: Pick<Catalogue, 'models'>, base: string): boolean {
  return models === null || (models.backends[base]?.models.some(({ available }) => available) ?? false);
}

/** By its name, as the server goes by it too. */
function isReasoner(id: string): boolean {
  return /reasoning|thinking/i.test(id) && !/non-?reasoning/i.test(id);
}

/** What stands on the button. */
export function chosenText({ harnesses, harness, models, model }: Choices): string {
  const named = models.find(({ value }) => value === model)?.label ?? model;
  const other = harnesses.length > 1 ? harnesses.find(({ value }) => value === harness)?.label : undefined;
  return [named, other].filter((each) => each !== undefined && each !== null).join(' · ');
}

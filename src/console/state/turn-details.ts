import type { TurnDetails } from './turn.ts';
import type { TurnEvent } from './turn-event.ts';

/** What is told of a turn beside its rows, after one more event. The same object where it tells nothing. */
export function detailsAfter(details: TurnDetails, event: TurnEvent): TurnDetails {
  switch (event.type) {
    case 'created':
      return { ...details, model: event.model };
    case 'file_changed':
      return details.files.includes(event.path) ? details : { ...details, files: [...details.files, event.path] };
    case 'model_switched':
      return noted({ ...details, model: event.to }, `Model ${event.from} → ${event.to}: ${event.reason}`);
    case 'compacted':
      return noted(details, `History compacted: ${event.tokensBefore} → ${event.tokensAfter} tokens`);
    case 'budget_reached':
      return noted(details, `Budget reached: ${event.budget}`);
    case 'gap':
      return noted(details, `Part of the record is missing: ${event.reason}`);
    case 'item_added':
    case 'text_delta':
    case 'text_whole':
    case 'reasoning_delta':
    case 'tool_start':
    case 'tool_result':
    case 'attempt_reset':
    case 'waiting':
    case 'todos_updated':
    case 'approval_required':
    case 'recovery_required':
    case 'approval_decided':
    case 'user_message':
    case 'ended':
      return details;
  }
}

function noted(details: TurnDetails, note: string): TurnDetails {
  return { ...details, notes: [...details.notes, note].slice(-100) };
}

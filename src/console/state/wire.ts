// Shapes of the server that the page keeps as they are.

import type { AgentView } from '../../views/agent-view.ts';
import type { Client, TurnItem } from '../../client/index.ts';

export type { OutputItem, SessionShare, TaskEvent, UhpFile, UhpResponse, UhpSession } from '../../client/index.ts';

/** Tokens and money. What nobody counted, or has no price, is absent. */
export type Spent = Pick<TurnItem, 'reins_usage' | 'reins_cost' | 'reins_cost_partial'>;
export type Approval = Awaited<ReturnType<Client['approvals']['get']>>;
export type Decision = Parameters<Client['approvals']['decide']>[1];
export type Answers = Parameters<Client['approvals']['answer']>[1];
export type Resolution = Parameters<Client['approvals']['resolve']>[1];
export type ModelCatalog = Awaited<ReturnType<Client['models']>>;
export type Harness = Awaited<ReturnType<Client['harnesses']['list']>>[number];
export type AgentEvent = ReturnType<AgentView['push']>[number];

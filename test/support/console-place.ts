import { call, createGate, hold, reply, say, startModel, text, type Gate, type Replies } from './model.ts';
import { key } from './uhp.ts';
import { openTab, type Tab, type TabOptions } from './console-tab.ts';
import { startServer, type TestServer } from './server.ts';
import { temporaryFolder } from './folders.ts';
import type { TestModel } from './model.ts';

export interface Place extends AsyncDisposable {
  readonly model: TestModel;
  server: TestServer;
  readonly data: string;
  /** Of all replies that pause. */
  readonly gate: Gate;
  open(options?: Partial<TabOptions>): Tab;
}

const thinking = (...chunks: string[]) => ({ kind: 'thinking', chunks }) as const;

/** By what is said: a tool, a pause in the middle, a command that does not end. */
const usual: Replies = {
  write: [reply(text('I write. '), call('c1', 'write_file', { path: 'a.txt', content: 'x' })), say('Written.')],
  held: [reply(thinking('Hm. '), text('first '), hold, text('second'))],
  'held write': [
    reply(thinking('I plan. '), text('I write. '), call('c1', 'write_file', { path: 'b.txt', content: 'x' })),
    reply(thinking('Well. '), text('Now '), hold, text('done.')),
  ],
  'held tool': [reply(call('c1', 'bash', { command: 'sleep 600' })), say('never')],
  tools: [
    reply(call('c1', 'bash', { command: 'echo one' })),
    reply(call('c2', 'bash', { command: 'echo two' })),
    say('Both.'),
  ],
};

export interface PlaceOptions {
  readonly replies?: Replies;
  readonly settings?: object;
}

/** A whole server with a model of its own, and pages on it. */
export async function openPlace({ replies = {}, settings = {} }: PlaceOptions = {}): Promise<Place> {
  const [gate, data] = [createGate(), temporaryFolder()];
  const model = await startModel((said) => replies[said] ?? usual[said], gate);
  const server = await startServer({ data, env: model.env, settings: { ...model.settings, ...settings } });
  const place: Place = {
    model,
    server,
    data,
    gate,
    open: (options) => openTab({ url: place.server.url, key, ...options }),
    async [Symbol.asyncDispose]() {
      gate.open();
      await place.server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
  return place;
}

import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer, whyNot } from './support/harness-server.ts';

describeHarnessContract('codex', {
  open: () => openHarnessServer({ base: 'codex', model: 'openai/test-model' }),
  skip: whyNot('codex'),
});

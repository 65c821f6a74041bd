import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer, whyNot } from './support/harness-server.ts';

describeHarnessContract('opencode', {
  open: () => openHarnessServer({ base: 'opencode', model: 'openai-compatible/test-model' }),
  skip: whyNot('opencode'),
});

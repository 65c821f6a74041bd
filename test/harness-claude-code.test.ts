import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer, whyNot } from './support/harness-server.ts';

describeHarnessContract('claude-code', {
  open: () => openHarnessServer({ base: 'claude-code', model: 'anthropic/test-model' }),
  skip: whyNot('claude-code'),
});

import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer, whyNot } from './support/harness-server.ts';

describeHarnessContract('pi', {
  open: () => openHarnessServer({ base: 'pi', model: 'anthropic/test-model' }),
  skip: whyNot('pi'),
});

import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer } from './support/harness-server.ts';

describeHarnessContract('native', {
  open: () => openHarnessServer({ base: 'native', model: 'openai/test-model' }),
  differences: { 'workspace-config': 'it loads nothing from there, whatever the switch says' },
});

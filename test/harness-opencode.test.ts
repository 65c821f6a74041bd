import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer, whyNot } from './support/harness-server.ts';

describeHarnessContract('opencode', {
  open: () => openHarnessServer({ base: 'opencode', model: 'openai-compatible/test-model' }),
  skip: whyNot('opencode'),
  differences: {
    'failures-end': 'it tries a server that talks nonsense for more than a minute before the task fails',
  },
});

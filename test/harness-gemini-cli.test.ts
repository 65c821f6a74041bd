import { describeHarnessContract } from '../src/testing/harness-contract.ts';
import { openHarnessServer, whyNot } from './support/harness-server.ts';

describeHarnessContract('gemini-cli', {
  open: () => openHarnessServer({ base: 'gemini-cli', model: 'google/test-model' }),
  skip: whyNot('gemini-cli'),
  differences: {
    'retry-text': 'it ends the turn at a reply that is cut',
    'failures-end': 'it tries a server that talks nonsense for more than a minute before the task fails',
  },
});

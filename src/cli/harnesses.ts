import { describeHarness } from './describe-harness.ts';
import { loadConfig } from '../config.ts';
import { parseVerbArgs, UsageError, type Verb } from './verb.ts';

const usage = `Usage: reins harnesses [BASE] [--json] [--data DIR] [--config FILE]

Lists the harnesses that a server with these settings has: whether its program is here and in which version, what is missing and
how to mend it, what it can do, and which models it can be given. No model is called.
`;

const options = { json: { type: 'boolean' }, data: { type: 'string' }, config: { type: 'string' } } as const;

export const harnesses: Verb = {
  usage,
  async run(args, { out }) {
    const { values, words } = parseVerbArgs(args, { options, words: 1 });
    const [base] = words;
    const config = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } });
    const { lookAtHarnesses } = await import('../inspect.ts');
    const all = await lookAtHarnesses(config);
    const shown = all.filter((each) => base === undefined || each.base === base);
    if (shown.length === 0)
      throw new UsageError(`there is no harness '${base ?? ''}'; there is ${all.map((each) => each.base).join(', ')}.`);
    const text = shown
      .map((each) => describeHarness(each, { capabilities: base !== undefined }).join('\n'))
      .join('\n\n');
    out.write(values.json === true ? `${JSON.stringify({ harnesses: shown }, null, 2)}\n` : `${text}\n`);
    return 0;
  },
};

import { loadConfig } from '../config.ts';
import type { DoctorReport } from '../inspect.ts';
import { describeHarness } from './describe-harness.ts';
import { parseVerbArgs, type Verb } from './verb.ts';

const usage = `Usage: reins doctor [--json] [--data DIR] [--config FILE]

Looks at what a server with these settings needs: the data folder and its disk, the database, the address, the certificate,
programs that the settings name; what runs shell commands; which providers of models have what they need, which harnesses are
installed, which models they can ask for and why not others. No call is made: that a key is set is all that is checked, not
that it is right. Exit code 1 when something is wrong.
`;

const options = { json: { type: 'boolean' }, data: { type: 'string' }, config: { type: 'string' } } as const;

export const doctor: Verb = {
  usage,
  async run(args, { out }) {
    const { values } = parseVerbArgs(args, { options, words: 0 });
    const config = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } });
    const { inspect } = await import('../inspect.ts');
    const report = await inspect(config);
    out.write(values.json === true ? `${JSON.stringify(report, null, 2)}\n` : describeReport(report));
    return report.findings.some(({ state }) => state === 'wrong') ? 1 : 0;
  },
};

export function describeReport(report: DoctorReport): string {
  return [
    `Node         ${report.node}`,
    `Data folder  ${report.dataDir}`,
    `Shell        ${report.shell}`,
    '',
    ...report.findings.map(describeFinding),
    '',
    'Providers (no call is made: whether a key is right shows when a model is used)',
    ...describeProviders(report.providers),
    ...report.harnesses.flatMap((harness) => ['', ...describeHarness(harness, { capabilities: false })]),
    '',
  ].join('\n');
}

const marks = { well: '+', beware: '!', wrong: 'x' } as const;

const describeFinding = ({ what, state, message }: DoctorReport['findings'][number]) =>
  `  ${marks[state]} ${what}: ${message}`;

function describeProviders(providers: DoctorReport['providers']): readonly string[] {
  const width = Math.max(0, ...providers.map(({ provider }) => provider.length));
  return providers.map(({ provider, configured, hint }) =>
    configured
      ? `  + ${provider.padEnd(width)}  configured; any of its models: --model ${provider}/NAME`
      : `  - ${provider.padEnd(width)}  set ${hint}`,
  );
}

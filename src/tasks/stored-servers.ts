import { addressFault } from './address-fault.ts';
import { headersFault, isHeaderValue, remoteUrlFault } from '../packages/server-address.ts';
import { InvalidInputError } from '../core/errors.ts';
import { secretIdOf } from '../core/secret-handle.ts';
import type { HarnessSetup, StoredSecret } from '../stores/harness-record.ts';
import type { Random } from '../core/random.ts';
import type { SentServer } from './harness-body.ts';

type Servers = HarnessSetup['mcpServers'];

/**
 * The servers of a harness as they are stored. A value that is a handle keeps what this harness has under it; one that was
 * read as a header stands for a header, one read as `auth` for that (UD-37).
 * @throws InvalidInputError
 */
export function storedServers(
  sent: readonly SentServer[],
  o: { readonly current: Servers; readonly random: Random; readonly allowHosts: readonly string[] },
): Servers {
  const { current, random, allowHosts } = o;
  const tokens = current.flatMap(({ auth }) => auth ?? []);
  const values = current.flatMap(({ headers }) => Object.values(headers));
  const keep = (text: string, known: readonly StoredSecret[], param: string): StoredSecret => {
    const id = secretIdOf(text);
    if (id === null) return { id: random.token(), value: text };
    const secret = known.find((each) => each.id === id);
    if (secret === undefined) throw new InvalidInputError('This harness has no such secret; send its value.', param);
    return secret;
  };
  return sent.map(({ name, url, transport, enabled, headers, auth }, index) => {
    const param = `mcp_servers[${index}]`;
    refuseFault(remoteUrlFault(url) ?? addressFault(url, allowHosts), `${param}.url`);
    refuseFault(headersFault(headers), `${param}.headers`);
    refuseFault(isHeaderValue(auth ?? '') ? null : 'A token has no such character.', `${param}.auth`);
    const kept = Object.entries(headers).map(
      ([header, value]) => [header, keep(value, values, `${param}.headers.${header}`)] as const,
    );
    const token = auth === null ? null : keep(auth, tokens, `${param}.auth`);
    return { name, url, transport, enabled, headers: Object.fromEntries(kept), auth: token };
  });
}

function refuseFault(fault: string | null, param: string): void {
  if (fault !== null) throw new InvalidInputError(fault, param);
}

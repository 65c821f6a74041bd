export type Environment = Readonly<Record<string, string | undefined>>;

/** Marks every process of one start, also those that leave its group and session (H-061). */
export const treeVariable = 'REINS_TREE';

/**
 * What a child may see of ours: an allow-list, so provider keys, our own secrets and the marks of an outer harness stay
 * out whatever they are called (H-132, H-133, B143).
 */
const inherited: ReadonlySet<string> = new Set(
  [
    'PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR',
    // How the network is reached where the operator has set it up.
    'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
    'SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO',
    // Kept, so that an outer Reins still finds what an inner one started.
    treeVariable,
  ].flatMap((names) => names.split(' ')),
);

/** The environment of a child: what it may inherit of `source`, and `own` on top. */
export function childEnvironment(source: Environment, own: Environment = {}): Environment {
  const kept = Object.entries(source).filter(([name]) => inherited.has(name) || name.startsWith('LC_'));
  return { ...Object.fromEntries(kept), TERM: 'dumb', ...own };
}

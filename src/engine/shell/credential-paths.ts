import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Where people and their programs keep credentials, in a home. A path that does not exist is no harm. */
const known = [
  '.ssh .gnupg .password-store .local/share/keyrings .aws .azure .kube .docker .oci .config/gcloud .config/gh',
  '.config/glab-cli .config/hub .config/doctl .config/git/credentials .config/op .config/rclone .config/helm',
  '.config/containers/auth.json .terraform.d .vault-token .databrickscfg .s3cfg .boto .git-credentials .netrc',
  '.npmrc .yarnrc.yml .pypirc .config/pip .pgpass .my.cnf .cargo/credentials .cargo/credentials.toml',
  '.gem/credentials .m2/settings.xml .gradle/gradle.properties .composer/auth.json .config/composer/auth.json',
  '.huggingface .cache/huggingface/token',
  // No command here reads them, and people export their keys in them.
  '.bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile .config/fish .config/environment.d',
  // Other agents and ourselves.
  '.reins .claude .claude.json .codex .gemini .pi .config/opencode .local/share/opencode .copilot',
  // Browsers, mail and the display: cookies are credentials.
  '.mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/Signal .Xauthority',
].flatMap((paths) => paths.split(' '));
const telling = /^\.env|^\.\w*_history$|credential|secret/i;

/** The same of a machine or container, where this process may read them because it runs as root. */
const ofSystem = ['/etc/shadow', '/etc/gshadow', '/etc/ssl/private', '/var/run/secrets', '/var/run/docker.sock'];

export function credentialPaths(home: string): readonly string[] {
  const ofHome = [...known, ...namesIn(home).filter((name) => telling.test(name))];
  return [...ofSystem, ...ofHome.map((path) => join(home, path))];
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

import { join } from 'node:path'
import { packageRoot } from '../../cluster/package.ts'
import { shellWord } from '../terminal/shell-word.ts'

/** Our kubectl, which knows --reason, the plugin, which both call the user's own, and kubestage itself. */
const kubectlFolder = join(packageRoot, 'bin', 'kubestage-kubectl')

/**
 * Lines for a shell: they point kubectl at the cluster of that kubeconfig, and let it say --reason. `sh` is bash and
 * zsh, too.
 */
export function exportsFor(kubeconfig: string, shell: 'sh' | 'fish' = 'sh'): string[] {
  const [config, folder] = [shellWord(kubeconfig), shellWord(kubectlFolder)]
  if (shell === 'fish') return [`set -gx KUBECONFIG ${config}`, `set -gx PATH ${folder} $PATH`]
  return [`export KUBECONFIG=${config}`, `export PATH=${folder}:"$PATH"`]
}

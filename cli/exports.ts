import { join } from 'node:path'
import { packageRoot } from './package.ts'
import { shellWord } from './shell-word.ts'

/** Our kubectl, which knows --reason, and the plugin; both call the user's own. */
const kubectlFolder = join(packageRoot, 'bin', 'kubestage-kubectl')

/** Lines for a shell: they point kubectl at the cluster of that kubeconfig, and let it say --reason. */
export function exportsFor(kubeconfig: string): string[] {
  return [`export KUBECONFIG=${shellWord(kubeconfig)}`, `export PATH=${shellWord(kubectlFolder)}:"$PATH"`]
}

import { execFileSync } from 'node:child_process'

const daySeconds = 86_400

/**
 * Returns the last commit of the branch that is a day older than its last one, or says why there is none: the history
 * of a shallow clone, or of an archive, does not reach so far.
 */
export function dayBefore(repository: string): { commit: string } | { why: string } {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  try {
    const until = Number(git('log', '-1', '--format=%ct')) - daySeconds
    const commit = git('rev-list', '-1', '--first-parent', `--before=${until}`, 'HEAD')
    if (commit) return { commit }
    const isShallow = git('rev-parse', '--is-shallow-repository') === 'true'
    const rest = isShallow ? 'this clone is shallow; git fetch --unshallow brings its history' : 'all commits are newer'
    return { why: `no commit is a day older than the last one: ${rest}` }
  } catch (error) {
    return { why: `git shows no history: ${(error as Error).message.split('\n')[1] ?? (error as Error).message}` }
  }
}

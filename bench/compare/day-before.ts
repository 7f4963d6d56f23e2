import { execFileSync } from 'node:child_process'

const daySeconds = 86_400

/** One that cannot be started is passed over. */
const atMost = 5

/**
 * Returns the last commits of the branch that are a day older than its last one, the newest first, or says why there is
 * none: the history of a shallow clone, or of an archive, does not reach so far.
 */
export function daysBefore(repository: string): { commits: string[] } | { why: string } {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  try {
    const until = Number(git('log', '-1', '--format=%ct')) - daySeconds
    const commits = git('rev-list', `-${atMost}`, '--first-parent', `--before=${until}`, 'HEAD')
    if (commits) return { commits: commits.split('\n') }
    const isShallow = git('rev-parse', '--is-shallow-repository') === 'true'
    const rest = isShallow ? 'this clone is shallow; git fetch --unshallow brings its history' : 'all commits are newer'
    return { why: `no commit is a day older than the last one: ${rest}` }
  } catch (error) {
    return { why: `git shows no history: ${(error as Error).message.split('\n')[1] ?? (error as Error).message}` }
  }
}

import { StatusError } from '../../shared/api/status/status-error.ts'
import type { VersionInfo } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import { kubernetesVersion } from '../../shared/config/kubernetes-version.ts'

export interface ServerKindOptions {
  version(): Promise<VersionInfo>
  clock: Clock
  onError(error: unknown): void
}

const RETRY = { initialMs: 100, maxMs: 7_000 }

/**
 * Returns a function that says if the API server is Kubestage's. The function asks the server once, and retries until
 * it answers; a server that refuses to tell its version is another server.
 */
export function serverKind(options: ServerKindOptions): () => Promise<boolean> {
  let known: Promise<boolean> | undefined
  return () => (known ??= ask(options))
}

async function ask({ version, clock, onError }: ServerKindOptions): Promise<boolean> {
  const backoff = createBackoff(RETRY)
  for (;;) {
    try {
      const { gitCommit } = await version()
      // No other build has such a commit.
      return gitCommit === kubernetesVersion.gitCommit
    } catch (error) {
      if (error instanceof StatusError) return false
      onError(error)
      await clock.machine.sleep(backoff.next())
    }
  }
}

import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import { findKubectls, type Kubectl } from './kubectl.ts'
import { skipOrFail } from './skip.ts'

/** Returns the kubectl for a test of pods with networks of their own; skips the test where the machine lacks a part. */
export async function podNetworkTools(t: Test): Promise<Kubectl | undefined> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  const [kubectl] = findKubectls()
  const missing: [boolean, string][] = [
    [possible.files !== 'own', 'this machine gives pods no networks and files'],
    [process.getuid?.() !== 0, 'links to the machine need root'],
    [!kubectl, 'no kubectl'],
    [spawnSync('nft', ['--version']).status !== 0, 'no nft: install nftables'],
  ]
  const why = missing.find(([isMissing]) => isMissing)?.[1]
  if (why) skipOrFail(t, why)
  return why ? undefined : kubectl
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../../apiserver/control-plane.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { knownFeatureGates } from '../../shared/config/feature-gates.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'

export interface TestControlPlane extends ControlPlane {
  /** What an administrator's connection is made with. */
  tls: { ca: string; cert: string; key: string }
  /** Signs certificates of the cluster. */
  ca: KeyPair
}

/** An API server with its loops in the test's own process: no node, and no scheduler unless it is asked for. */
export async function startTestControlPlane(
  t: Test,
  options: Partial<Pick<ControlPlaneOptions, 'controllers' | 'scheduler' | 'volumesDir'>> = {},
): Promise<TestControlPlane> {
  const directory = mkdtempSync(join(tmpdir(), 'kubestage-plane-'))
  const host = '127.0.0.1'
  const pki = ensureClusterPki({
    directory,
    nowMs: Date.now(),
    host,
    serviceAddress: '10.96.0.1',
    nodeName: 'n1',
  })
  const plane = await startControlPlane({
    host,
    port: 0,
    serviceCidr: '10.96.0.0/16',
    featureGates: knownFeatureGates,
    scheduler: false,
    ...options,
    pki,
    clock: realClock,
    log: pino({ level: 'silent' }),
  })
  t.teardown(async () => {
    await plane.close()
    rmSync(directory, { recursive: true })
  })
  return { ...plane, tls: { ...pki.admin, ca: pki.ca.cert }, ca: pki.ca }
}

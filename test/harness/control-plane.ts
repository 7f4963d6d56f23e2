import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts'
import type { ControlPlaneOptions } from '../../cluster/control-plane-options.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { VirtualClock } from '../../shared/clock/virtual-clock.ts'
import { controllers } from '../../shared/config/controller-names.ts'
import type { ElectionFlags } from '../../shared/config/election-options.ts'
import { defaultFeatureGates } from '../../shared/config/feature-gates.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { type ClusterPki, ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { storesOfRun } from './stores-of-run.ts'

export interface TestControlPlane extends ControlPlane {
  /** What an administrator's connection is made with. */
  tls: { ca: string; cert: string; key: string }
  /** Signs certificates of the cluster. */
  ca: KeyPair
  /** Of all keys; another server of the cluster starts with the same. */
  pki: ClusterPki
}

type Chosen =
  | 'auditPolicyFile'
  | 'auditLogPath'
  | 'auditWebhookConfigFile'
  | 'auditWebhookBatchMaxSize'
  | 'controllers'
  | 'clusterCidr'
  | 'scheduler'
  | 'volumesDir'
  | 'storage'
  | keyof ElectionFlags

/** An API server with its loops in the test's own process, the last of the run: no node, and no scheduler unless it is asked for. */
export async function startTestControlPlane(
  t: Test,
  {
    clock,
    pkiOf,
    ...options
  }: Partial<Pick<ControlPlaneOptions, Chosen>> & { clock?: VirtualClock; pkiOf?: TestControlPlane } = {},
): Promise<TestControlPlane> {
  // A name that no loop has would be waited for in vain.
  if (options.controllers) controllers.fromFile(options.controllers)
  const directory = mkdtempSync(join(tmpdir(), 'kubestage-plane-'))
  const host = '127.0.0.1'
  const nowMs = clock?.now() ?? Date.now()
  const pki = pkiOf?.pki ?? ensureClusterPki({ directory, nowMs, host, serviceAddress: '10.96.0.1', nodeName: 'n1' })
  const planes: ControlPlane[] = []
  for (const store of options.storage ? [options] : storesOfRun(directory))
    planes.push(
      await startControlPlane({
        host,
        port: 0,
        serviceCidr: '10.96.0.0/16',
        featureGates: defaultFeatureGates,
        scheduler: false,
        ...options,
        // The holder of a store runs the loops of all.
        ...(planes.length > 0 && { scheduler: false, controllers: ['-*'] }),
        ...store,
        pki,
        clock: clock ?? realClock,
        log: pino({ level: 'silent' }),
      }),
    )
  const plane = planes.at(-1)!
  let closing: Promise<void> | undefined
  const closeAll = async (): Promise<void> => {
    for (const one of planes.reverse()) await one.close()
  }
  const close = (): Promise<void> => (closing ??= closeAll())
  t.teardown(async () => {
    const closed = close()
    // What still waits for its time on a virtual clock has to come to its end.
    await clock?.advance(60_000)
    await closed
    rmSync(directory, { recursive: true })
  })
  return { ...plane, close, tls: { ...pki.admin, ca: pki.ca.cert }, ca: pki.ca, pki }
}

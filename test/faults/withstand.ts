import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import type { Node } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import type { TestCluster } from '../harness/cluster.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { attacks } from './attacks.ts'
import { startCanaries } from './canaries.ts'
import { PodAttacker } from './pod-attacker.ts'
import { SilentServer } from './silent-server.ts'

interface Withstood {
  attacker: PodAttacker
  /** How the canaries are, and how they were at first. */
  state(): Promise<object>
  before: object
  /** Names of attacks that the store refused. */
  refused: string[]
}

/**
 * Attacks a cluster with each pod, and holds the canaries against what they were at first. Resolves to undefined where
 * no pod has files of its own.
 */
export async function withstandPods(t: Test, cluster: TestCluster): Promise<Withstood | undefined> {
  const { client, access, stateDir } = cluster
  const [node] = (await client.list<Node>(nodes)).items
  if (node?.metadata.labels?.['kubestage.dev/files'] !== 'own') {
    skipOrFail(t, 'this machine lets us mount nothing')
    return undefined
  }
  const silent = await SilentServer.start()
  t.teardown(() => silent.close())
  const attacker = await PodAttacker.start(client, access)
  t.teardown(() => attacker.close())
  await t.rejects(attacker.client.list(pods, { namespace: attacker.namespace }), { code: 403 })
  const state = await startCanaries(t, cluster, node)
  const before = await state()
  t.match(before, { ready: 'True', bystander: null, hasSegment: true, others: { failures: [], isQuick: true } })
  const refused: string[] = []
  for (const attack of attacks) {
    await t.test(attack.name, async (t) => {
      const isRefused = !(await attacker.attack(attack, { silentPort: silent.port }))
      t.same(await state(), before)
      if (isRefused) return void refused.push(attack.name)
      await until(() => largestFile(path.join(stateDir, 'kubelet', 'pods')) < 2 * 1024 * 1024, {
        what: 'its files to be small',
      })
      await attacker.clear()
      await until(() => silent.connections === 0, { what: 'its connections to be closed' })
      t.same(await state(), before, 'also when its pods are gone')
    })
  }
  return { attacker, state, before, refused }
}

/** The largest file of a pod that lies in no volume. */
function largestFile(folder: string): number {
  const pods = readdirSync(folder)
  const files = pods.flatMap((pod) => readdirSync(path.join(folder, pod)).map((name) => path.join(folder, pod, name)))
  return Math.max(
    0,
    ...files.map((file) => statSync(file, { throwIfNoEntry: false })).map((stat) => (stat?.isFile() ? stat.size : 0)),
  )
}

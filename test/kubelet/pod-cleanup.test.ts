/** What a kubelet removes of pods that the API has forgotten. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createPodCleanup } from '../../kubelet/pods/pod-cleanup.ts'

t.test('folders that a killed kubelet had not yet removed', async (t) => {
  const rootDir = t.testdir()
  for (const folder of ['pods/gone/volumes/empty', 'pods/known', 'logs/pods/ns_web_gone/main', 'logs/pods/ns_db_known'])
    mkdirSync(join(rootDir, folder), { recursive: true })
  const options = { rootDir, podFiles: true, runtime: {}, cache: {}, endOrphan: async () => {}, onError: t.error }
  const cleanup = createPodCleanup(options as unknown as Parameters<typeof createPodCleanup>[0])
  await cleanup.endOrphans(new Map(), new Set(['known']))
  t.same(readdirSync(join(rootDir, 'pods')), ['known'])
  t.same(readdirSync(join(rootDir, 'logs', 'pods')), ['ns_db_known'])
  const other = join(rootDir, 'none')
  await createPodCleanup({ ...options, rootDir: other } as never).endOrphans(new Map(), new Set())
  t.notOk(existsSync(other), 'where there is nothing, nothing is made')
})

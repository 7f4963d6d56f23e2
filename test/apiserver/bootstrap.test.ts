import t from 'tap'
import { storeBootstrapPolicy } from '../../apiserver/bootstrap/bootstrap-policy.ts'
import { storeSystemObjects } from '../../apiserver/bootstrap/system-objects.ts'
import { Catalog } from '../../apiserver/registry/catalog.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'

interface Stored {
  metadata: { uid: string; creationTimestamp: string; managedFields: { time: string }[] }
  spec?: { cidrs?: string[] }
}

/** Returns the first objects of a new server, by their keys. */
async function firstObjects(creationTimestamp: string, serviceCidr: string): Promise<Map<string, Stored>> {
  const storage = createMemoryStorage()
  await storeBootstrapPolicy(storage, creationTimestamp)
  await storeSystemObjects(storage, new Catalog(resources), { creationTimestamp, serviceCidr })
  const { entries } = await storage.list({ prefix: '/registry/' })
  return new Map(entries.map(({ key, value }) => [key, JSON.parse(value)]))
}

t.test('the first objects of each server have its own UIDs, times and service range', async (t) => {
  const [one, other] = [
    await firstObjects('2026-01-01T00:00:00Z', '10.96.0.0/12'),
    await firstObjects('2026-01-02T00:00:00Z', '10.97.0.0/16'),
  ]
  t.strictSame([...one.keys()], [...other.keys()])
  const uids = [...one.values(), ...other.values()].map(({ metadata }) => metadata.uid)
  t.equal(new Set(uids).size, 2 * one.size)
  t.ok(uids.every((uid) => /^[0-9a-f-]{36}$/.test(uid)))
  for (const [objects, time] of [
    [one, '2026-01-01T00:00:00Z'],
    [other, '2026-01-02T00:00:00Z'],
  ] as const)
    for (const [key, { metadata }] of objects)
      t.match(metadata, { creationTimestamp: time, managedFields: [{ time }] }, key)
  const range = '/registry/networking.k8s.io/servicecidrs/kubernetes'
  t.strictSame(one.get(range)?.spec?.cidrs, ['10.96.0.0/12'])
  t.strictSame(other.get(range)?.spec?.cidrs, ['10.97.0.0/16'])
})

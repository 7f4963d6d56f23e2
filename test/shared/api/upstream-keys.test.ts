import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyPrefix, objectKey } from '../../../apiserver/registry/keys.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { ownKey, rootOf, upstreamKey } from '../../../shared/api/upstream-keys.ts'
import { addedGroups } from '../../openapi/added.ts'

const stored = resources.filter(({ virtual }) => !virtual)

/** What a real kube-apiserver 1.36.3 wrote to etcd when it was given the example of each kind: resource, name, key. */
const recorded = new Map(
  readFileSync(join(import.meta.dirname, 'upstream-keys.txt'), 'utf8')
    .trim()
    .split('\n')
    .map((line): [string, { name: string; key: string }] => {
      const [resource = '', name = '', key = ''] = line.split(' ')
      return [resource, { name, key }]
    }),
)

t.test('each built-in kind has the key in etcd that a real kube-apiserver gives it, and back', async (t) => {
  for (const definition of stored) {
    const resource = `${definition.plural}.${definition.group}`
    const known = recorded.get(resource)
    if (addedGroups.has(definition.group)) continue
    if (!t.ok(known, `${resource} is recorded`) || !known) continue
    const own = objectKey(definition, definition.namespaced ? 'default' : undefined, known.name)
    t.equal(upstreamKey('/registry/', own), known.key, resource)
    t.equal(ownKey('/registry/', known.key), own, resource)
  }
})

t.test('keys of other resources keep their group, whatever they are called', async (t) => {
  const pairs = [
    '/registry/stable.example.com/crontabs/default/mine',
    '/registry/gateway.networking.k8s.io/gateways/default/web',
    '/registry/metrics.k8s.io/pods/default/web',
    '/registry/networking.k8s.io/others/default/web',
    '/registry/kubestage.dev/terminations/default/web.1',
  ]
  for (const key of pairs) {
    t.equal(upstreamKey('/clusters/one/', key), key.replace('/registry/', '/clusters/one/'))
    t.equal(ownKey('/clusters/one/', key.replace('/registry/', '/clusters/one/')), key)
  }
})

t.test('what is no object has no key of ours', async (t) => {
  for (const key of [
    '/registry/health',
    '/registry/kubestage.dev/last-value',
    '/other/pods/default/web',
    '/registry/pods/',
  ])
    t.equal(ownKey('/registry/', key), undefined, key)
})

t.test('prefixes of a resource and of a namespace are prefixes in etcd', async (t) => {
  for (const definition of stored) {
    const whole = upstreamKey('/registry/', keyPrefix(definition))
    const namespaced = upstreamKey('/registry/', keyPrefix(definition, 'default'))
    const key = upstreamKey('/registry/', objectKey(definition, 'default', 'x'))
    t.ok(key.startsWith(namespaced) && namespaced.startsWith(whole) && whole.endsWith('/'), whole)
  }
})

t.test('a prefix has a slash on both sides, however it is typed', async (t) => {
  for (const typed of ['/registry', 'registry', '/registry/', '//registry//'])
    t.equal(rootOf(typed), '/registry/', typed)
  t.equal(rootOf('teams/blue'), '/teams/blue/')
  for (const typed of ['', '/']) t.equal(rootOf(typed), '/', typed)
})

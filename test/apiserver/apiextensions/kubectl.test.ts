/** A custom resource as kubectl's users know it, with each kubectl found on this machine. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../../harness/cluster.ts'
import { findKubectls, kubectl } from '../../harness/kubectl.ts'
import { skipOrFail } from '../../harness/skip.ts'

const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false')
const versions = findKubectls()
if (versions.length === 0) skipOrFail(t, 'no kubectl on this machine')

const definition = (group: string): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `crontabs.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        additionalPrinterColumns: [
          { name: 'Spec', type: 'string', jsonPath: '.spec.cronSpec' },
          { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A table of what runs when.',
            properties: {
              spec: {
                type: 'object',
                required: ['cronSpec'],
                properties: {
                  cronSpec: { type: 'string', description: 'When it runs.', pattern: '^(\\S+\\s+){4}\\S+$' },
                  replicas: { type: 'integer', minimum: 1, default: 1 },
                  image: { type: 'string' },
                },
                'x-kubernetes-validations': [
                  { rule: 'self.replicas < 9 || has(self.image)', message: 'many need an image' },
                ],
              },
              status: { type: 'object', properties: { replicas: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
})
const cronTab = (group: string, spec: object): object => ({
  apiVersion: `${group}/v1`,
  kind: 'CronTab',
  metadata: { name: 'mine' },
  spec,
})

for (const version of versions) {
  t.test(`kubectl ${version.version}`, async (t) => {
    const group = `v${version.version.replace('.', '-')}.example.com`
    const crd = `crontabs.${group}`
    const resource = `crontab.${group}/mine`
    const folder = t.testdir()
    const file = (name: string, object: object): string => {
      const path = join(folder, name)
      writeFileSync(path, JSON.stringify(object))
      return path
    }
    const run = (...args: string[]) => kubectl(t, version, cluster.kubeconfig, args)

    const crdFile = file('crd.json', definition(group))
    t.match(await run('apply', '-f', crdFile), { code: 0, stdout: 'created' })
    t.match(await run('wait', '--for=condition=established', `crd/${crd}`, '--timeout=90s'), {
      code: 0,
      stdout: 'condition met',
    })
    t.match(await run('apply', '-f', crdFile), { code: 0, stdout: 'unchanged' })

    const tabFile = file('tab.json', cronTab(group, { cronSpec: '* * * * 5' }))
    t.match(await run('apply', '-f', tabFile), { code: 0, stdout: 'created' })
    t.match(await run('apply', '-f', tabFile), { code: 0, stdout: 'unchanged' })
    t.match((await run('get', resource)).stdout, /^NAME +SPEC +REPLICAS\nmine +\* \* \* \* 5 +1\n$/)
    t.match((await run('explain', `crontabs.spec.cronSpec`, `--api-version=${group}/v1`)).stdout, /When it runs\./)
    t.match(await run('apply', '--server-side', '--field-manager=me', '-f', tabFile), {
      code: 0,
      stdout: 'serverside-applied',
    })
    t.match(await run('scale', resource, '--replicas=3'), { code: 0, stdout: 'scaled' })
    t.match((await run('get', resource, '-o', 'jsonpath={.spec.replicas} {.metadata.generation}')).stdout, '3 2')

    const wrong = file('wrong.json', cronTab(group, { cronSpec: 'soon', replicas: 0 }))
    const refused = await run('apply', '-f', wrong)
    t.match(refused, { code: 1, stderr: /spec\.cronSpec: Invalid value: "soon"/ })
    t.match(
      refused.stderr,
      /spec\.replicas: Invalid value: 0: spec\.replicas in body should be greater than or equal to 1/,
    )
    t.match(await run('patch', resource, '--type=merge', '-p', '{"spec":{"replicas":9}}'), {
      code: 1,
      stderr: /spec: Invalid value: .*many need an image/,
    })
    t.match(await run('delete', 'crd', crd), { code: 0, stdout: 'deleted' })
    t.match(await run('get', resource), { code: 1 })
  })
}

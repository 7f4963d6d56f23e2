import { get } from 'node:https'
import { json } from 'node:stream/consumers'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Resource } from '../../../shared/client/client.ts'
import { loadKubeconfig } from '../../../shared/client/kubeconfig.ts'

interface Served {
  resources?: { name: string; kind: string; namespaced: boolean }[]
}
export interface Found {
  resource: Resource
  namespaced: boolean
}

/** Where objects of a kind are created, as the server says; undefined for a kind that it does not serve. */
export async function discovery(kubeconfig: string): Promise<(object: KubeObject) => Promise<Found | undefined>> {
  const { server, ca, cert, key } = await loadKubeconfig(kubeconfig)
  const known = new Map<string, Promise<Served>>()
  const ask = (path: string): Promise<Served> =>
    new Promise((resolve, reject) => {
      get(server + path, { ca, cert, key, agent: false }, (answer) => {
        if (answer.statusCode === 200) return resolve(json(answer) as Promise<Served>)
        answer.resume()
        resolve({})
      }).on('error', reject)
    })
  return async ({ apiVersion = '', kind = '' }) => {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    if (!known.has(path)) known.set(path, ask(path))
    const { resources = [] } = (await known.get(path)) ?? {}
    const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'))
    if (!found) return undefined
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
    return {
      resource: { group: group ?? '', version: version ?? '', plural: found.name },
      namespaced: found.namespaced,
    }
  }
}

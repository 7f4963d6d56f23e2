import { isDeepStrictEqual } from 'node:util'
import { ignoring } from '../../shared/api/status/status-error.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import { configMaps } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { clusterInfoRef } from './cluster-info.ts'
import { signedData } from './signature.ts'
import { watchTokens } from './token-secrets.ts'

/**
 * Signs the kubeconfig in cluster-info with every token that may sign: a machine that knows a token can then trust the
 * kubeconfig. Upstream: pkg/controller/bootstrap/bootstrapsigner.go.
 */
export function startBootstrapSigner({ client, informers, clock, log }: ControllerContext): Controller {
  const sign = (): void => queue.add('cluster-info')
  const tokens = watchTokens(informers, { onAdd: sign, onUpdate: sign, onDelete: sign })
  const infos = informers.selected<ConfigMap>(configMaps, {
    selection: { namespace: clusterInfoRef.namespace, fieldSelector: `metadata.name=${clusterInfoRef.name}` },
    handlers: [{ onAdd: sign, onUpdate: sign }],
  })
  const queue = createLoopQueue<'cluster-info'>(
    { clock, log, loop: 'bootstrap-signer-controller', object: () => 'ConfigMap kube-public/cluster-info' },
    async () => {
      await Promise.all([tokens.synced(), infos.synced()])
      const info = infos.get(clusterInfoRef)
      const data = info && signedData(info.data, tokens.list(), clock.now())
      if (!data || isDeepStrictEqual({ ...info.data }, data)) return
      // A change meanwhile makes an event of its own.
      await client.update(configMaps, { ...info, data }).catch(ignoring('Conflict', 'NotFound'))
    },
  )
  return { close: () => queue.close() }
}

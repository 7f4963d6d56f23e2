import { type BootstrapTokenSecret, tokenTimeLeftMs } from '../../shared/api/bootstrap-token.ts'
import { ignoring } from '../../shared/api/status/status-error.ts'
import { secrets } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { watchTokens } from './token-secrets.ts'

/** Deletes bootstrap tokens when they expire. Upstream: pkg/controller/bootstrap/tokencleaner.go. */
export function startTokenCleaner({ client, informers, clock, log }: ControllerContext): Controller {
  const consider = ({ metadata }: BootstrapTokenSecret): void => queue.add(metadata.name ?? '')
  const tokens = watchTokens(informers, { onAdd: consider, onUpdate: consider })
  const queue = createLoopQueue({ clock, log, loop: 'token-cleaner-controller', object: 'Secret' }, async (name) => {
    const ref = { namespace: 'kube-system', name }
    const secret = tokens.get(ref)
    if (!secret) return
    const leftMs = tokenTimeLeftMs(secret, clock.now())
    if (leftMs > 0) return void (Number.isFinite(leftMs) && queue.addAfter(name, leftMs))
    const preconditions = { uid: secret.metadata.uid }
    await client.delete(secrets, ref, { preconditions }).catch(ignoring('Conflict', 'NotFound'))
  })
  return { close: () => queue.close() }
}

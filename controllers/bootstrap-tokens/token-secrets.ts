import {
  type BootstrapTokenSecret,
  bootstrapTokenNamespace,
  bootstrapTokenType,
} from '../../shared/api/bootstrap-token.ts'
import type { Informer, InformerHandler } from '../../shared/client/informer.ts'
import { secrets } from '../../shared/client/resources.ts'
import type { Informers } from '../informers/informers.ts'

/** The Secrets in kube-system that are bootstrap tokens. */
export const watchTokens = (
  informers: Informers,
  handler: InformerHandler<BootstrapTokenSecret>,
): Informer<BootstrapTokenSecret> =>
  informers.selected<BootstrapTokenSecret>(secrets, {
    selection: { namespace: bootstrapTokenNamespace, fieldSelector: `type=${bootstrapTokenType}` },
    handlers: [handler],
  })

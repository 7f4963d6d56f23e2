import type { ObjectMeta } from '../shared/api/types.ts'
import type { User } from './kind/user.ts'
import type { Registry } from './registry/registry.ts'

/** Adds labels to a Secret, as the server itself, if it is still the same object. */
export async function labelSecret(
  registry: Registry,
  user: User,
  { namespace, name = '', uid }: ObjectMeta,
  labels: Record<string, string>,
): Promise<void> {
  const definition = registry.catalog.find('', 'v1', 'secrets')
  if (!definition) return
  await registry.update(
    { definition, namespace, name, user },
    {
      uidIsPrecondition: true,
      createAbsent: 'never',
      transform(current) {
        const secret = current!()
        secret.metadata = { ...secret.metadata, uid, labels: { ...secret.metadata.labels, ...labels } }
        return secret
      },
    },
    { dryRun: false, fieldManager: 'apiserver', warn: () => {} },
  )
}

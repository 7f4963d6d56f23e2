import type { KubeObject } from '../../../shared/api/types.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ObjectScope, WriteOptions } from '../../registry/write-context.ts'
import { replaceContent } from '../../registry/writes/replace-content.ts'

/** Names the kind of an object that is sent to a subresource and is never stored. */
export interface Unstored {
  group: string
  version: string
  kind: string
}

/**
 * Asks admission about an eviction, a binding, a token: a create of something else than the object. It may change
 * `body` in place. `check` runs before the validating phase.
 */
export function admitUnstored(
  registry: Registry,
  { subresource, ...scope }: ObjectScope & { subresource: string },
  { kind, body, options, check }: { kind: Unstored; body: KubeObject; options: WriteOptions; check?: () => void },
): Promise<void> {
  const { dryRun, warn, annotate, asked } = options
  const attributes: AdmissionAttributes = {
    ...scope,
    operation: 'CREATE',
    subresource,
    object: body,
    dryRun,
    options: asked && { kind: 'CreateOptions', ...asked },
    view: asItself(kind),
    warn,
    annotate,
  }
  return registry.admitUnstored(attributes, check)
}

/** Asks admission whether the user may connect; `options`: what the query says, in the kind's words. */
export function admitConnect(
  registry: Registry,
  { subresource, ...scope }: ObjectScope & { subresource: string },
  {
    kind,
    options,
    warn,
    annotate,
  }: Pick<AdmissionAttributes, 'warn' | 'annotate'> & { kind: Unstored; options: object },
): Promise<void> {
  return registry.admitUnstored({
    ...scope,
    operation: 'CONNECT',
    subresource,
    object: { ...options } as KubeObject,
    dryRun: false,
    view: asItself(kind),
    warn,
    annotate,
  })
}

const asItself = ({ group, version, kind }: Unstored) => ({
  group,
  version,
  kind,
  show: (body: KubeObject) => body,
  change(body: KubeObject, changed: KubeObject): void {
    const { kind: _kind, apiVersion: _apiVersion, ...content } = changed
    replaceContent(body, content)
  },
})

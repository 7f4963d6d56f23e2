import { flowControl } from '../../../bootstrap/flow-control.ts'
import { invalid } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { deepEqual } from '../../../values/deep-equal.ts'

type Spec = object | undefined

/** The two objects of each kind that must stay as the server makes them; only the shares of `exempt` are free. */
const mandatory = new Set(['exempt', 'catch-all'])

export function validateMandatory(
  kind: 'FlowSchema' | 'PriorityLevelConfiguration',
  name: string | undefined,
  spec: Spec,
  errors: FieldErrors,
): void {
  if (!name || !mandatory.has(name)) return
  const fixed = flowControl.find((one) => one.name === name && one.plural === `${kind.toLowerCase()}s`)!.body
    .spec as Spec
  const isFree = kind === 'PriorityLevelConfiguration' && name === 'exempt'
  if (deepEqual(isFree ? { ...spec, exempt: (fixed as { exempt?: unknown }).exempt } : spec, fixed)) return
  const except = isFree ? " except the 'spec.exempt' field" : ''
  const shown = dump(`io.k8s.api.flowcontrol.v1.${kind}Spec`, spec)
  errors.push(invalid('spec', shown, `spec of '${name}'${except} must equal the fixed value`))
}

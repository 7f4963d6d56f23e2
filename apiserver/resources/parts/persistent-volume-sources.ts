/** Validates each source of a persistent volume where it differs from a pod's volume. */
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1123Label, dns1123Subdomain } from '../../validation/names.ts'
import { validateDriverName } from './driver-name.ts'
import { between, reject, validateNoBacksteps } from './messages.ts'
import { validateVolumeSource } from './pod-spec/validate-volumes.ts'

/** A source as its fields are on the wire. */
interface Source {
  driver?: string
  volumeHandle?: string
  path?: string
  endpointsNamespace?: string
  secretNamespace?: string
  secretRef?: SecretReference
  targetPortal?: string
  initiatorName?: string
  iqn?: string
  lun?: number
  chapAuthDiscovery?: boolean
  chapAuthSession?: boolean
  [secret: `${string}SecretRef`]: SecretReference | undefined
}
interface SecretReference {
  name?: string
  namespace?: string
}
interface Place {
  volume: string
  path: string
  errors: FieldErrors
}

export function validatePersistentSource(name: string, given: unknown, place: Place): void {
  const source = given as Source
  const rule = rules[name]
  if (rule) rule(source, place)
  else validateVolumeSource(name, source, place.path, place.errors)
  const { path, errors } = place
  if (name === 'glusterfs' && source.endpointsNamespace !== undefined)
    validateEndpointsNamespace(source.endpointsNamespace, path, errors)
  if (name === 'azureFile' && source.secretNamespace === '') errors.push(required(`${path}.secretNamespace`))
  const inNamespace = name === 'cinder' || name === 'storageos'
  if (inNamespace && source.secretRef && !source.secretRef.namespace)
    errors.push(required(`${path}.secretRef.namespace`))
}

const rules: Readonly<Record<string, (source: Source, place: Place) => void>> = {
  local({ path: folder }, { path, errors }) {
    if (!folder) errors.push(required(`${path}.path`))
    else validateNoBacksteps(folder, `${path}.path`, errors)
  },
  csi(source, { path, errors }) {
    validateDriverName(source.driver, `${path}.driver`, errors)
    if (!source.volumeHandle) errors.push(required(`${path}.volumeHandle`))
    for (const secret of ['controllerPublish', 'controllerExpand', 'nodePublish', 'nodeExpand'] as const) {
      const reference = source[`${secret}SecretRef`]
      if (reference) validateSecretReference(reference, `${path}.${secret}SecretRef`, errors)
    }
  },
  iscsi: validateIscsi,
}

function validateSecretReference({ name, namespace }: SecretReference, path: string, errors: FieldErrors): void {
  if (!name) errors.push(required(`${path}.name`))
  else reject(errors, `${path}.name`, name, dns1123Subdomain(name))
  if (!namespace) errors.push(required(`${path}.namespace`))
  else reject(errors, `${path}.namespace`, namespace, dns1123Label(namespace))
}

function validateEndpointsNamespace(namespace: string, path: string, errors: FieldErrors): void {
  const field = `${path}.endpointsNamespace`
  if (namespace === '')
    errors.push(invalid(field, namespace, 'if the endpointnamespace is set, it must be a valid namespace name'))
  else reject(errors, field, namespace, dns1123Label(namespace))
}

const formats = [/^(?=iqn)(?:.*)iqn\.\d{4}-\d\d\.[a-z\d.-]+:[^,;*&$|\s]+$/i, /^eui.[a-z\d]{16}$/i, /^naa.[a-z\d]{32}$/i]
const NO_FORMAT = 'must be valid format'
const MAX_BYTES = 64
const TOO_LONG =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.'

function validateIscsi(source: Source, { volume, path, errors }: Place): void {
  const { targetPortal = '', initiatorName, iqn, lun = 0, secretRef } = source
  const checkFormat = (name: string, field: string): void => {
    if (!formats.some((format) => format.test(name))) errors.push(invalid(`${path}.${field}`, name, NO_FORMAT))
  }
  if (!targetPortal) errors.push(required(`${path}.targetPortal`))
  // Upstream writes some names small.
  if (initiatorName !== undefined && Buffer.byteLength(`${volume}:${targetPortal}`) > MAX_BYTES)
    errors.push(invalid(`${path}.targetportal`, targetPortal, TOO_LONG))
  if (iqn) checkFormat(iqn, 'iqn')
  else errors.push(required(`${path}.iqn`))
  if (lun < 0 || lun > 255) errors.push(invalid(`${path}.lun`, lun, between(0, 255)))
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !secretRef) errors.push(required(`${path}.secretRef`))
  if (secretRef && !secretRef.name) errors.push(required(`${path}.secretRef.name`))
  if (initiatorName !== undefined) checkFormat(initiatorName, 'initiatorname')
}

import { objectIdentifier, sequence, set, taggedPrimitive, utf8String } from './der.ts'
import { oids } from './identifiers.ts'
import { ipBytes, isAddress } from './ip-bytes.ts'

/** A subject as certificates of Kubernetes have it: organizations are a user's groups, the common name is the user. */
export function distinguishedName(commonName: string, organizations: readonly string[] = []): Buffer {
  const attribute = (oid: string, value: string): Buffer => set(sequence(objectIdentifier(oid), utf8String(value)))
  return sequence(
    ...organizations.map((name) => attribute(oids.organization, name)),
    attribute(oids.commonName, commonName),
  )
}

/** DNS names and IP addresses, told apart by their form. */
export const generalNames = (names: readonly string[]): Buffer => sequence(...names.map(generalName))

function generalName(name: string): Buffer {
  return isAddress(name) ? taggedPrimitive(7, ipBytes(name)) : taggedPrimitive(2, Buffer.from(name))
}

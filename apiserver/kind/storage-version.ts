/**
 * The version that a custom resource is stored in stands last in its value: the definition may name another tomorrow.
 * Clients never see this member: what they are answered has its own apiVersion.
 */
const member = /,"apiVersion":"([^"\\]+)"\}$/
/** The member, with a version as long as a DNS label may be. */
const maxLength = 80

/** The value of a custom resource as it is stored. */
export const withStorageVersion = (value: string, version: string): string =>
  `${value.slice(0, -1)},"apiVersion":"${version}"}`

/** The version in a stored value; undefined for one that an older release of Kubestage stored. */
export const storageVersionIn = ({ value, parts }: { value: string; parts?: readonly string[] }): string | undefined =>
  member.exec(endOf(parts?.at(-1) ?? value))?.[1]

const endOf = (text: string): string => text.slice(-maxLength)

export const withoutStorageVersion = (value: string): string => {
  const found = member.exec(endOf(value))
  return found ? `${value.slice(0, -found[0].length)}}` : value
}

const MAX_LABEL = 63

/** Messages of upstream's IsDNS1035Label: names that can be a word of a URL and of kubectl's command line. */
export function dns1035LabelErrors(name: string): string[] {
  const errors: string[] = []
  if (name.length > MAX_LABEL) errors.push(`must be no more than ${MAX_LABEL} characters`)
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name))
    errors.push(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    )
  return errors
}

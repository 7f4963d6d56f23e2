import { expiryRules } from '../../apiserver/registry/expiry-rules.ts'
import { copyStorage } from '../../apiserver/storage/copy/copy.ts'
import { parsePlace, showPlace } from '../../apiserver/storage/copy/places.ts'
import { etcdOptions } from '../../apiserver/storage/etcd-options.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import { flag, path, text } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { unknownWord } from '../terminal/unknown-word.ts'

const usage = 'copy FROM TO'
/** A cluster on etcd keeps them as long by itself. */
const terminationTtlMs = 7 * 24 * 3_600_000

export default command({
  purpose: 'Copies all objects from one storage to another, so that a cluster goes on there.',
  usage,
  options: {
    config: configOption,
    ...etcdOptions,
    toEtcdCafile: option(path, { default: '', help: 'The same for TO, where it differs' }),
    toEtcdCertfile: option(path, { default: '', help: 'The same for TO, where it differs' }),
    toEtcdKeyfile: option(path, { default: '', help: 'The same for TO, where it differs' }),
    toEtcdPrefix: option(
      { ...text, placeholder: 'PREFIX' },
      { default: '', help: 'The same for TO, where it differs' },
    ),
    overwrite: option(flag, { default: false, help: 'Replace the objects that TO holds; otherwise it must be empty' }),
    output: outputOption,
  },
  notes: [
    'FROM and TO are each one of',
    '  sqlite:PATH          as --storage takes it; no cluster may use the file',
    '  etcd:URL[,URL]       as --storage takes it; FROM may be in use: what is written after the copy began is not copied',
    '  snapshot:FILE        of kubestage snapshot, without nodes and their leases',
    'Revisions go on above those of both: a client that knows an older resourceVersion gets 410, and lists again.',
    'Certificates are not copied: start the cluster with the same state folder, or copy its folder pki.',
  ],
  async complete({ positionals: [word, ...places] }) {
    if (word === undefined) return ['copy']
    return word === 'copy' && places.length < 2 ? ['snapshot:', 'sqlite:', 'etcd:'] : []
  },
  async run({ values, positionals: [word = '', fromText, toText, ...rest] }) {
    if (word !== 'copy') throw unknownWord('storage', word, ['copy'])
    if (fromText === undefined || toText === undefined || rest.length > 0)
      throw new UsageError(`usage: kubestage storage ${usage}`)
    const [from, to] = [parsePlace(fromText), parsePlace(toText)]
    const source = { ...values, clock: realClock }
    const target = {
      clock: realClock,
      etcdCafile: values.toEtcdCafile || values.etcdCafile,
      etcdCertfile: values.toEtcdCertfile || values.etcdCertfile,
      etcdKeyfile: values.toEtcdKeyfile || values.etcdKeyfile,
      etcdPrefix: values.toEtcdPrefix || values.etcdPrefix,
    }
    let progress = ''
    const onWritten = (count: number, all: number): void => {
      progress = ` (${count} of ${all} objects)`
    }
    const { overwrite, output } = values
    const copying = copyStorage({
      ...{ from, to, source, target, overwrite, onWritten },
      expiring: expiryRules(terminationTtlMs),
    })
    const copied = await withProgress(() => `Copying${progress}`, copying)
    if (output !== 'text') await printData(output, { from: showPlace(from), to: showPlace(to), ...copied })
    else {
      const { objects, fromRevision, toRevision } = copied
      process.stdout.write(
        `${objects} objects copied from ${showPlace(from)} (revision ${fromRevision}) to ${showPlace(to)} (revision ${toRevision})\n`,
      )
    }
    return 0
  },
})

import { option } from '../../shared/config/option.ts'
import { path, text } from '../../shared/config/option-types.ts'

/** Holds the options for the connection to etcd, under kube-apiserver's names. */
export const etcdOptions = {
  etcdCafile: option(path, { default: '', help: "PEM file of the CA that etcd's certificates come from" }),
  etcdCertfile: option(path, { default: '', help: 'PEM file of the client certificate for etcd' }),
  etcdKeyfile: option(path, { default: '', help: 'PEM file of its key' }),
  etcdPrefix: option(
    { ...text, placeholder: 'PREFIX' },
    { default: '/registry', help: "Where the cluster's keys are in etcd; each cluster needs its own" },
  ),
}

#!/usr/bin/python3
"""Writes the configuration of nginx from the Ingresses of its class, and reloads nginx when they change."""
import json, os, signal, ssl, subprocess, sys, threading, time, urllib.request

account = '/var/run/secrets/kubernetes.io/serviceaccount'
api = 'https://%s:%s' % (os.environ['KUBERNETES_SERVICE_HOST'], os.environ['KUBERNETES_SERVICE_PORT'])
trust = ssl.create_default_context(cafile=account + '/ca.crt')
given = dict(word[2:].split('=', 1) for word in sys.argv[1:] if '=' in word)
resolver = next(line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver'))
head = f'''worker_processes 2; pid /tmp/nginx.pid; error_log /dev/stderr notice; daemon off;
events {{ }}
http {{
  access_log /dev/stdout; resolver {resolver} valid=5s;
  client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxy; fastcgi_temp_path /tmp/f; uwsgi_temp_path /tmp/u; scgi_temp_path /tmp/s;
  server {{ listen 10254; location /healthz {{ return 200 ok; }} }}
  server {{ listen 80 default_server; location / {{ return 404 "no Ingress\\n"; }} }}
'''


def get(path):
    with open(account + '/token') as file:
        request = urllib.request.Request(api + path, headers={'authorization': 'Bearer ' + file.read()})
    return urllib.request.urlopen(request, context=trust, timeout=600)


def server(ingress, rule):
    namespace = ingress['metadata']['namespace']
    text = '  server { listen 80; server_name %s;\n' % rule.get('host', '_')
    for path in rule['http']['paths']:
        service = path['backend']['service']
        text += '    location %s { set $to %s.%s.svc.cluster.local:%d; proxy_set_header Host $host; proxy_pass http://$to; }\n' % (
            path['path'], service['name'], namespace, service['port']['number'])
    return text + '  }\n'


def write(ingresses):
    mine = [one for one in ingresses if one['spec'].get('ingressClassName') == given['ingress-class']]
    with open('/tmp/nginx.conf', 'w') as file:
        file.write(head + ''.join(server(one, rule) for one in mine for rule in one['spec'].get('rules', [])) + '}\n')


def follow(nginx):
    while True:
        try:
            found = json.load(get('/apis/networking.k8s.io/v1/ingresses'))
            write(found['items'])
            nginx.send_signal(signal.SIGHUP)
            for _ in get('/apis/networking.k8s.io/v1/ingresses?watch=true&resourceVersion=' + found['metadata']['resourceVersion']):
                break
        except Exception as error:
            print('cannot follow Ingresses:', error, file=sys.stderr, flush=True)
            time.sleep(1)


write([])
nginx = subprocess.Popen(['nginx', '-c', '/tmp/nginx.conf', '-e', '/dev/stderr'])
signal.signal(signal.SIGTERM, lambda *_: nginx.send_signal(signal.SIGQUIT))
threading.Thread(target=follow, args=[nginx], daemon=True).start()
sys.exit(nginx.wait())

#!/usr/bin/python3
"""One service of a shop: `shop NAME`. Each asks the others, whose addresses are in the environment, by gRPC."""
import json, os, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import grpc

name = sys.argv[1]
port = int(os.environ.get('PORT', 8080))
products = {'1': {'name': 'Mug', 'usd': 9}, '2': {'name': 'Watch', 'usd': 110}}
carts = {}
channels = {}


def ask(service, **request):
    address = os.environ[service.upper() + '_SERVICE_ADDR']
    channel = channels.setdefault(address, grpc.insecure_channel(address))
    call = channel.unary_unary('/shop.Shop/Ask')
    return json.loads(call(json.dumps(request).encode(), timeout=10, wait_for_ready=True))


def add_to_cart(user, product):
    carts.setdefault(user, []).append(product)
    return carts[user]


def check_out(user):
    cart = ask('cart', get=user)
    usd = sum(ask('product_catalog', product=one)['usd'] for one in cart) + ask('shipping', items=len(cart))['usd']
    amount = ask('currency', usd=usd)
    return {'order': ask('payment', amount=amount)['transaction'], 'eur': amount['eur'], 'items': len(cart)}


answers = {
    'cart': lambda get=None, add=None, product=None: carts.get(get, []) if get else add_to_cart(add, product),
    'productcatalog': lambda product=None: products[product] if product else products,
    'currency': lambda usd: {'eur': round(usd * 0.9, 2)},
    'shipping': lambda items: {'usd': 5 + items},
    'payment': lambda amount: {'transaction': 'paid-%s' % amount['eur']},
    'recommendation': lambda but: [one for one in ask('product_catalog') if one != but],
    'checkout': lambda user: check_out(user),
}


def answer(request, context):
    return json.dumps(answers[name](**json.loads(request))).encode()


class Shop(grpc.GenericRpcHandler):
    def service(self, call):
        if call.method == '/grpc.health.v1.Health/Check':
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b'\x08\x01')  # SERVING
        if call.method == '/shop.Shop/Ask':
            return grpc.unary_unary_rpc_method_handler(answer)


class Page(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        try:
            self.answer()
        except grpc.RpcError as error:
            self.say({'error': str(error.code()), 'details': error.details()}, 503)

    def answer(self):
        path, _, user = self.path.partition('?user=')
        if path == '/_healthz':
            return self.say({'ok': True})
        if path.startswith('/product/'):
            product = path.removeprefix('/product/')
            shown = ask('product_catalog', product=product)
            also = ask('recommendation', but=product)
            return self.say({**shown, **ask('currency', usd=shown['usd']), 'also': also})
        if path.startswith('/add/'):
            return self.say(ask('cart', add=user, product=path.removeprefix('/add/')))
        if path == '/checkout':
            return self.say(ask('checkout', user=user))
        self.say({'shop': os.environ.get('HOSTNAME')})

    def say(self, answer, status=200):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = False  # what is open when it ends is answered


ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
if name == 'frontend':
    server = Server(('', port), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
else:
    # Clients of old connections do not learn that the Service leads elsewhere: these end, so that none is left at the end.
    ages = [('grpc.max_connection_age_ms', 2000), ('grpc.max_connection_age_grace_ms', 10000)]
    server = grpc.server(ThreadPoolExecutor(8), handlers=[Shop()], options=ages)
    server.add_insecure_port('[::]:%d' % port)
    server.start()
print('listening on', port, flush=True)
ended.wait()
if name == 'frontend':
    server.shutdown()
    server.server_close()
else:
    server.stop(5).wait()

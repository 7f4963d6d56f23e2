# Speaks rtnetlink, in which the kernel takes links, addresses and routes: no iproute2 is needed. Numbers and structures are those of
# linux/rtnetlink.h and linux/if_link.h.
use strict;
use Socket;

my $EXISTS = 17;
my ($REQUEST, $ACKNOWLEDGE, $ALONE, $CREATE) = (0x1, 0x4, 0x200, 0x400);
my ($NEW_LINK, $DELETE_LINK, $NEW_ADDRESS, $NEW_ROUTE, $NEW_NEIGHBOUR) = (16, 17, 20, 24, 28);
my ($LINK_ADDRESS, $LINK_NAME, $LINK_MTU, $LINK_MASTER, $LINK_INFO, $LINK_NAMESPACE) = (1, 3, 4, 10, 18, 28);
my ($INFO_KIND, $INFO_DATA, $VETH_PEER) = (1, 2, 1);
my ($VXLAN_ID, $VXLAN_LOCAL, $VXLAN_LEARNING, $VXLAN_PORT, $VXLAN_LOCAL_BYPASS) = (1, 4, 7, 15, 31);
my ($NEIGHBOUR_AT, $NEIGHBOUR_ADDRESS, $NEIGHBOUR_PORT, $PERMANENT, $AF_BRIDGE, $OF_LINK_ITSELF) = (1, 2, 6, 0x80, 7, 2);
my ($ROUTE_TO, $ROUTE_LINK, $ROUTE_GATEWAY, $ROUTE_METRIC, $ROUTE_SOURCE) = (1, 4, 5, 6, 7);
my ($NEW_RULE, $RULE_MARK, $RULE_TABLE, $TO_TABLE) = (32, 10, 15, 1);
my ($MAIN_TABLE, $MARKED_TABLE, $LOCAL, $ON_HOST) = (254, 100, 2, 254);
my ($STATIC, $EVERYWHERE, $ON_LINK, $UNICAST) = (4, 0, 253, 1);

sub attribute {
  my ($type, $data) = @_;
  my $length = 4 + length $data;
  return pack('SSa*', $length, $type, $data) . "\0" x (-$length & 3);
}

# An index of 0 lets the kernel choose one. Links are up, but for the far end of a pair, which cannot be before there is the near one.
sub link_head { pack('CxSlLL', 0, 0, $_[0] // 0, ($_[1] // 1) x 2) }
sub link_kind { attribute($LINK_INFO, join '', attribute($INFO_KIND, $_[0]), @_ > 1 ? attribute($INFO_DATA, $_[1]) : ()) }

# A pair of links; the other end is made in the namespace of a file.
sub new_pair {
  my ($near, $far) = @_;
  my $peer = attribute($VETH_PEER, link_head($far->{index}, 0) . link_words($far));
  return [$NEW_LINK, $CREATE | $ALONE, link_head($near->{index}) . link_words($near) . link_kind('veth', $peer)];
}
sub link_words {
  my ($link) = @_;
  return join '', $link->{name} ? attribute($LINK_NAME, "$link->{name}\0") : (),
    $link->{mtu} ? attribute($LINK_MTU, pack('L', $link->{mtu})) : (),
    $link->{master} ? attribute($LINK_MASTER, pack('L', $link->{master})) : (),
    $link->{address} ? attribute($LINK_ADDRESS, $link->{address}) : (),
    $link->{namespace} ? attribute($LINK_NAMESPACE, pack('L', fileno $link->{namespace})) : ();
}
sub new_bridge { [$NEW_LINK, $CREATE | $ALONE, link_head($_[0]{index}) . link_words($_[0]) . link_kind('bridge')] }
# Of the kind vxlan: sends frames in datagrams from this address, and takes those that come to this port, in the network of the socket
# that asks for it. It learns nothing, and what is for another such link of this machine goes the whole way, so that rules see it as new.
sub new_tunnel {
  my ($link, $from, $port) = @_;
  my $words = join '', attribute($VXLAN_ID, pack('L', 1)), attribute($VXLAN_LOCAL, inet_aton($from)), attribute($VXLAN_LEARNING, "\0"),
    attribute($VXLAN_PORT, pack('n', $port)), attribute($VXLAN_LOCAL_BYPASS, "\0");
  return [$NEW_LINK, $CREATE | $ALONE, link_head() . link_words($link) . link_kind('vxlan', $words)];
}
# Says to which port of which machine such a link sends what is for a hardware address, and whose address that is.
sub far_neighbour {
  my ($index, $address, $hardware, $at, $port) = @_;
  my $head = sub { pack('CxSlSCC', $_[0], 0, $index, $PERMANENT, $_[1], 0) };
  my $place = attribute($NEIGHBOUR_AT, inet_aton($at)) . attribute($NEIGHBOUR_PORT, pack('n', $port));
  my $known = attribute($NEIGHBOUR_ADDRESS, $hardware);
  return ([$NEW_NEIGHBOUR, $CREATE | $ALONE, $head->($AF_BRIDGE, $OF_LINK_ITSELF) . $place . $known],
    [$NEW_NEIGHBOUR, $CREATE | $ALONE, $head->(AF_INET, 0) . attribute($NEIGHBOUR_AT, inet_aton($address)) . $known]);
}
# Takes back what such a request makes: types come in the order new, delete.
sub undone { map { [$_->[0] + 1, 0, $_->[2]] } @_ }
sub set_link { [$NEW_LINK, 0, link_head($_[0]{index}) . link_words($_[0])] }
sub delete_link { [$DELETE_LINK, 0, pack('CxSlLL', 0, 0, 0, 0, 0) . attribute($LINK_NAME, "$_[0]\0")] }

sub new_address {
  my ($index, $address, $bits) = @_;
  my $four = inet_aton($address);
  return [$NEW_ADDRESS, $CREATE | $ALONE, pack('CCCCL', AF_INET, $bits, 0, 0, $index) . attribute(1, $four) . attribute(2, $four)];
}

# To all addresses by a gateway, or to a range by a link.
sub default_route { route('0.0.0.0', 0, $EVERYWHERE, attribute($ROUTE_GATEWAY, inet_aton($_[0]))) }
sub link_route {
  my ($index, $network, $bits, $source) = @_;
  return route($network, $bits, $ON_LINK, attribute($ROUTE_LINK, pack('L', $index)) . attribute($ROUTE_SOURCE, inet_aton($source)));
}
# To all other addresses, where nothing better is known: so that rules are asked about them.
sub last_route { route('0.0.0.0', 0, $ON_LINK, attribute($ROUTE_LINK, pack('L', $_[0])) . attribute($ROUTE_METRIC, pack('L', 1000))) }
# To a range by a gateway at a link.
sub far_route {
  my ($index, $gateway, $network, $bits, $source, $metric, $flags) = @_;
  my $words = join '', attribute($ROUTE_GATEWAY, inet_aton($gateway)), attribute($ROUTE_LINK, pack('L', $index)),
    attribute($ROUTE_SOURCE, inet_aton($source)), attribute($ROUTE_METRIC, pack('L', $metric));
  return route($network, $bits, $EVERYWHERE, $words, $flags);
}
# The gateway is at the link, though no route says so.
sub tunnel_route { far_route(@_, 4) }
sub route {
  my ($network, $bits, $scope, $words, $flags) = @_;
  my $head = pack('CCCCCCCCL', AF_INET, $bits, 0, 0, $MAIN_TABLE, $STATIC, $scope, $UNICAST, $flags // 0);
  return [$NEW_ROUTE, $CREATE | $ALONE, $head . ($bits ? attribute($ROUTE_TO, inet_aton($network)) : '') . $words];
}

# All packets with this mark are taken for the network's own, wherever they go.
sub take_marked {
  my ($mark, $index) = @_;
  my $rule = pack('CCCCCCCCL', AF_INET, 0, 0, 0, 0, 0, 0, $TO_TABLE, 0);
  my $route = pack('CCCCCCCCL', AF_INET, 0, 0, 0, $MARKED_TABLE, $STATIC, $ON_HOST, $LOCAL, 0);
  return ([$NEW_ROUTE, $CREATE | $ALONE, $route . attribute($ROUTE_LINK, pack('L', $index))],
    [$NEW_RULE, $CREATE | $ALONE, $rule . attribute($RULE_MARK, pack('L', $mark)) . attribute($RULE_TABLE, pack('L', $MARKED_TABLE))]);
}

sub netlink { socket(my $socket, 16, SOCK_RAW, $_[0] // 0) or return undef; return $socket }

# What the kernel tracks of connections: linux/netfilter/nfnetlink_conntrack.h.
my ($GET_TRACKED, $DELETE_TRACKED, $DUMP, $ERROR, $DONE) = (0x101, 0x102, 0x300, 2, 3);
my ($SENT, $RETURNED, $OF_ADDRESSES, $OF_PROTOCOL, $FROM, $TO, $NUMBER, $FROM_PORT, $TO_PORT) = (1, 2, 1, 2, 1, 2, 1, 2, 3);
my $NESTED = 0x8000;
my $OF_IPV4 = pack('CCn', AF_INET, 0, 0);

# Calls back for each of a protocol: with its tuple, the place that was asked, and the place that answers.
sub each_exchange {
  my ($socket, $protocol, $do) = @_;
  defined syswrite($socket, pack('LSSLLa*', 16 + length $OF_IPV4, $GET_TRACKED, $REQUEST | $DUMP, 1, 0, $OF_IPV4)) or return 0;
  while (1) {
    defined sysread($socket, my $bytes, 1 << 20) or return 0;
    while (length $bytes >= 16) {
      my ($length, $type) = unpack('LS', $bytes);
      return 1 if $type == $DONE;
      if ($type == $ERROR) {
        $! = -unpack('x16l', $bytes);
        return 0;
      }
      my $known = attributes(substr $bytes, 20, $length - 20);
      my ($sent, $returned) = map { attributes($known->{$_}) } $SENT, $RETURNED;
      my $ports = attributes($sent->{$OF_PROTOCOL});
      $do->($known->{$SENT}, exchange_end($sent, $TO, $TO_PORT), exchange_end($returned, $FROM, $FROM_PORT))
        if unpack('C', $ports->{$NUMBER} // "\0") == $protocol;
      substr $bytes, 0, $length + (-$length & 3), '';
    }
  }
}
sub exchange_end {
  my ($tuple, $address, $port) = @_;
  my ($addresses, $ports) = map { attributes($tuple->{$_}) } $OF_ADDRESSES, $OF_PROTOCOL;
  return inet_ntoa($addresses->{$address}) . ':' . unpack('n', $ports->{$port});
}
sub delete_exchange { [$DELETE_TRACKED, 0, $OF_IPV4 . attribute($SENT | $NESTED, $_[0])] }

sub attributes {
  my ($bytes) = @_;
  my %found;
  while (length($bytes // '') >= 4) {
    my ($length, $type) = unpack('SS', $bytes);
    last if $length < 4;
    $found{$type & 0x3fff} = substr $bytes, 4, $length - 4;
    my $whole = $length + (-$length & 3);
    $bytes = $whole < length $bytes ? substr($bytes, $whole) : '';
  }
  return \%found;
}

# Sends requests together. True, or sets $! to the first error; that something is there already is none where it may.
sub ask_kernel {
  my ($socket, $may_exist, @requests) = @_;
  my $number = 0;
  my $bytes = join '', map {
    my ($type, $flags, $body) = @$_;
    pack('LSSLLa*', 16 + length $body, $type, $flags | $REQUEST | $ACKNOWLEDGE, ++$number, 0, $body)
  } @requests;
  defined syswrite($socket, $bytes) or return 0;
  my $problem = 0;
  for (@requests) {
    defined sysread($socket, my $answer, 65536) or return 0;
    my $error = -unpack('x16l', $answer);
    $problem ||= $error unless $may_exist && $error == $EXISTS;
  }
  $! = $problem;
  return $problem == 0;
}
1;

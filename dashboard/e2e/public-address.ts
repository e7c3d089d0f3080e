import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'

const HOST = 'hub.example.com'

/** An https address on loopback: an HTTP proxy leads every name to a TLS server in front of a hub. */
export class PublicAddress {
  readonly origin = `https://${HOST}`
  private target = 0

  private constructor(
    /** A file with the certificate, for SSL_CERT_FILE. */
    readonly certificateFile: string,
    /** The address of the proxy, for browsers and the hub. */
    readonly proxy: string,
    private readonly servers: Server[],
    private readonly dir: string,
  ) {}

  static async open(): Promise<PublicAddress> {
    const { key, cert } = selfSigned()
    const tls = createTlsServer({ key, cert }, (socket) =>
      address.target ? bridge(socket, address.target) : socket.destroy(),
    )
    const proxy = createHttpServer()
    proxy.on('connect', (_, socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      bridge(socket, tlsPort) // after close, the connection is refused
    })
    for (const server of [tls, proxy]) {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    }
    const tlsPort = portOf(tls)
    const dir = await mkdtemp(join(tmpdir(), 'hookback-e2e-'))
    const file = join(dir, 'certificate.pem')
    await writeFile(file, cert)
    const address = new PublicAddress(file, `http://127.0.0.1:${portOf(proxy)}`, [tls, proxy], dir)
    return address
  }

  /** The flags of a hub that connects to the outside through the proxy. */
  get flags(): string[] {
    return ['-notify-proxy', this.proxy]
  }

  /** The options of a browser on another device. */
  get device() {
    return { proxy: { server: this.proxy }, ignoreHTTPSErrors: true }
  }

  /** Leads new connections to a hub. Until then, they are closed. */
  leadTo(url: string): void {
    this.target = Number(new URL(url).port)
  }

  async close(): Promise<void> {
    for (const server of this.servers) server.close()
    await rm(this.dir, { recursive: true })
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** Connects a socket with a port on loopback, in both directions. */
function bridge(socket: Socket, port: number): void {
  const to = connect(port, '127.0.0.1')
  for (const [from, into] of [
    [socket, to],
    [to, socket],
  ] as const) {
    from.pipe(into)
    from.on('error', () => into.destroy())
    from.on('close', () => into.destroy())
  }
}

/** Returns a key and its own certificate for the host, which is also its authority. */
function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
    const body = Buffer.concat(parts)
    const n = body.length
    const length = n < 128 ? [n] : n < 256 ? [0x81, n] : [0x82, n >> 8, n & 255]
    return Buffer.concat([Buffer.from([tag, ...length]), body])
  }
  const [sequence, set, octets, time] = [0x30, 0x31, 0x04, 0x17]
  const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes))
  const integer = (n: number) => der(0x02, Buffer.from([n]))
  const ecdsaWithSha256 = der(sequence, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
  const name = der(sequence, der(set, der(sequence, oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(HOST)))))
  const utc = (year: number) => der(time, Buffer.from(`${year % 100}0101000000Z`))
  const year = new Date().getUTCFullYear()
  const isAuthority = der(sequence, der(0x01, Buffer.from([255])))
  const extensions = [
    der(sequence, oid(0x55, 0x1d, 0x13), der(octets, isAuthority)),
    der(sequence, oid(0x55, 0x1d, 0x11), der(octets, der(sequence, der(0x82, Buffer.from(HOST))))),
  ]
  const content = der(
    sequence,
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    name,
    der(sequence, utc(year - 1), utc(year + 1)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(sequence, ...extensions)),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', content, privateKey))
  const pem = der(sequence, content, ecdsaWithSha256, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
  }
}

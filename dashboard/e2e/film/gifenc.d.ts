// gifenc comes without types.
declare module 'gifenc' {
  type Color = [number, number, number] | [number, number, number, number]
  interface Frame {
    palette?: Color[]
    transparent?: boolean
    transparentIndex?: number
    /** ms */
    delay?: number
    dispose?: number
  }
  interface Encoder {
    writeFrame(index: Uint8Array, width: number, height: number, frame: Frame): void
    finish(): void
    bytes(): Uint8Array
  }
  const gifenc: {
    GIFEncoder(): Encoder
    quantize(rgba: Uint8Array, colors: number): Color[]
    applyPalette(rgba: Uint8Array, palette: Color[]): Uint8Array
  }
  export default gifenc
}

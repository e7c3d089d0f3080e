/** Draws slanted lines into a box on a canvas: waiting for a person. */
export function drawHatching(
  pen: CanvasRenderingContext2D,
  { x, y, w, h }: { x: number; y: number; w: number; h: number },
  color: string,
): void {
  pen.save()
  pen.beginPath()
  pen.rect(x + 1, y + 1, Math.max(0, w - 2), h - 2)
  pen.clip()
  pen.strokeStyle = color
  pen.globalAlpha = 0.42
  pen.lineWidth = 1.25
  pen.beginPath()
  for (let at = Math.floor(x / 7) * 7 - h; at < x + w; at += 7) {
    pen.moveTo(at, y + h)
    pen.lineTo(at + h, y)
  }
  pen.stroke()
  pen.restore()
}

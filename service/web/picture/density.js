// The density of points, if there are too many to tell them apart. Points are accumulated in a texture, which is shown in
// the mean of their colors, with an opacity that grows with the logarithm of their number.

const VERTEX = `
  attribute vec2 corner;
  varying vec2 place;
  void main() {
    place = corner * 0.5 + 0.5;
    gl_Position = vec4(corner, 0.0, 1.0);
  }`;
const FRAGMENT = `
  precision mediump float;
  uniform sampler2D sums;
  uniform float most; // points on a pixel that are shown at full strength
  varying vec2 place;
  void main() {
    vec4 sum = texture2D(sums, place);
    float share = log(max(sum.a, 1.0)) / log(max(most, 2.0));
    float alpha = min(sum.a, 1.0) * mix(0.3, 1.0, min(share, 1.0));
    gl_FragColor = vec4(sum.rgb / max(sum.a, 0.001) * alpha, alpha);
  }`;
const CORNER = 3; // the place of its attribute, beside the three of a point
const CELLS = 48; // on each axis, for the highest density
const CORNERS = Float32Array.of(-1, -1, 1, -1, -1, 1, 1, 1);

export class Density {
  // Null if the graphics card cannot blend to float textures.
  static of(gl, compile) {
    const halfFloat = gl.getExtension("OES_texture_half_float");
    if (!halfFloat || !gl.getExtension("EXT_color_buffer_half_float")) return null;
    return new Density(gl, compile(gl, VERTEX, FRAGMENT, { corner: CORNER }), halfFloat.HALF_FLOAT_OES);
  }

  constructor(gl, program, type) {
    Object.assign(this, { gl, program, type });
    this.most = gl.getUniformLocation(program, "most");
    this.corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.bufferData(gl.ARRAY_BUFFER, CORNERS, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(CORNER);
    gl.vertexAttribPointer(CORNER, 2, gl.FLOAT, false, 0, 0);
    this.sums = gl.createTexture();
    this.target = gl.createFramebuffer();
  }

  // Begins to accumulate points.
  begin(width, height) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.sums);
    if (this.width !== width || this.height !== height) {
      [this.width, this.height] = [width, height];
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, this.type, null);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.sums, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.blendFunc(gl.ONE, gl.ONE);
  }

  // Draws the accumulated points.
  end(most) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.program);
    gl.uniform1f(this.most, most);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }
}

// The most points on a unit of area, of positions (three numbers a point) within [[left, right], [low, high]].
export function highestDensity(positions, order, ranges) {
  const counts = new Uint32Array(CELLS * CELLS);
  const [[left, right], [low, high]] = ranges;
  let most = 0;
  for (const index of order) {
    const column = Math.floor(((positions[3 * index] - left) / (right - left)) * CELLS);
    const line = Math.floor(((positions[3 * index + 1] - low) / (high - low)) * CELLS);
    if (column < 0 || line < 0 || column >= CELLS || line >= CELLS) continue;
    most = Math.max(most, (counts[line * CELLS + column] += 1));
  }
  return (most * CELLS * CELLS) / ((right - left) * (high - low));
}

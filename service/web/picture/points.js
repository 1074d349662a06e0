// Points drawn by WebGL. Shaders are not scripts, so a strict Content-Security-Policy allows them.
//
// A point has four coordinates, which the matrix `turn` maps to positions in the picture. To rotate the picture only this
// matrix is changed, however many columns the rows have.

import { Density } from "./density.js";

const VERTEX = `
  attribute vec4 numbers;
  attribute vec4 color; // alpha is the opacity of the point
  attribute vec4 style; // shape, hollow, ten times the size, unused
  uniform mat4 turn;
  uniform vec3 shift;
  uniform mat4 view;
  uniform vec4 border; // low and high of x, low and high of y: what lies beyond stands there as a triangle
  uniform float pixelRatio;
  varying vec4 shade;
  varying vec4 look;
  void main() {
    vec3 place = (turn * numbers).xyz + shift;
    vec2 inside = clamp(place.xy, border.xz, border.yw);
    bool isFar = inside != place.xy;
    float size = isFar ? max(style.z * 0.1, 9.0) : style.z * 0.1;
    gl_Position = view * vec4(inside, place.z, 1.0);
    gl_PointSize = (size + 2.0) * pixelRatio;
    shade = color;
    look = vec4(isFar ? 3.0 : style.x, isFar ? 1.0 : style.y, size * pixelRatio, 1.4 * pixelRatio);
  }`;

const FRAGMENT = `
  precision mediump float;
  uniform float opacity;
  varying vec4 shade;
  varying vec4 look; // shape, hollow, diameter, width of a ring
  float reach(vec2 p) {
    if (look.x < 0.5) return length(p);
    if (look.x < 1.5) return max(abs(p.x), abs(p.y)) * 1.15;
    if (look.x < 2.5) return abs(p.x) + abs(p.y);
    return max(p.y * 1.2 + 0.2, abs(p.x) * 1.2 - p.y * 0.6 + 0.3);
  }
  void main() {
    float radius = look.z * 0.5;
    vec2 p = (gl_PointCoord - 0.5) * (look.z + 2.0) / radius;
    float edge = 1.2 / radius;
    float distance = reach(p);
    float alpha = 1.0 - smoothstep(1.0 - edge, 1.0, distance);
    float width = look.w / radius;
    alpha *= look.y > 0.5 ? smoothstep(1.0 - width - edge, 1.0 - width, distance) : opacity;
    alpha *= shade.a;
    gl_FragColor = vec4(shade.rgb * alpha, alpha);
  }`;

const ATTRIBUTES = [
  ["numbers", "FLOAT", false],
  ["color", "UNSIGNED_BYTE", true],
  ["style", "UNSIGNED_BYTE", false],
];
const UNIFORMS = ["turn", "shift", "view", "border", "pixelRatio", "opacity"];
const IDENTITY = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0);
const NOWHERE = Float32Array.of(-1e30, 1e30, -1e30, 1e30);

export class PointLayer {
  // Throws if the browser has no WebGL.
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
    if (!this.gl) throw new Error("no WebGL");
    this.count = 0;
    this.turn = IDENTITY;
    this.shift = [0, 0, 0];
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault()); // or it would not be restored
    canvas.addEventListener(
      "webglcontextrestored",
      () => (this.prepare(), this.setPoints(this.given), this.draw(...this.drawn)),
    );
  }

  // Browsers limit the number of contexts, so a hidden picture releases its own.
  dispose() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  prepare() {
    const { gl } = this;
    const program = compile(gl, VERTEX, FRAGMENT);
    this.program = program;
    this.density = Density.of(gl, compile);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniforms = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = Object.fromEntries(
      ATTRIBUTES.map(([name, type, normalized]) => {
        const buffer = gl.createBuffer();
        const place = gl.getAttribLocation(program, name);
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, 4, gl[type], normalized, 0, 0);
        return [name, buffer];
      }),
    );
  }

  // { numbers: Float32Array, color: Uint8Array, style: Uint8Array }, four a point each; some of them change some.
  setPoints(given) {
    const { gl } = this;
    this.given = { ...this.given, ...given };
    this.count = this.given.numbers.length / 4;
    for (const [name, data] of Object.entries(given)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    }
  }

  // What a point's numbers mean: a matrix of two columns, one row a number. Without one they are x, y and z.
  setTurn(matrix, shift = [0, 0]) {
    this.turn = IDENTITY;
    this.shift = [0, 0, 0];
    if (!matrix) return;
    this.turn = new Float32Array(16);
    matrix.forEach((row, index) => this.turn.set(row, 4 * index));
    this.shift = [...shift, 0];
  }

  // `most` points on a pixel are shown at full strength; without it each point has the `opacity`.
  draw(view, opacity, border = NOWHERE, most = 0) {
    const { gl, canvas, uniforms } = this;
    const ratio = devicePixelRatio;
    this.size ??= [canvas.clientWidth, canvas.clientHeight]; // until somebody says that it has changed
    const [width, height] = this.size.map((length) => Math.round(length * ratio));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    this.drawn = [view, opacity, border, most];
    const density = most > 0 ? this.density : null;
    gl.useProgram(this.program);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    density?.begin(width, height);
    gl.uniformMatrix4fv(uniforms.turn, false, this.turn);
    gl.uniform3fv(uniforms.shift, this.shift);
    gl.uniformMatrix4fv(uniforms.view, false, view);
    gl.uniform4fv(uniforms.border, border);
    gl.uniform1f(uniforms.pixelRatio, ratio);
    gl.uniform1f(uniforms.opacity, density ? 1 : opacity);
    gl.drawArrays(gl.POINTS, 0, this.count);
    density?.end(most);
  }
}

// `places` of attributes by name, where they are not left to the driver.
function compile(gl, vertex, fragment, places = {}) {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  for (const [name, place] of Object.entries(places)) gl.bindAttribLocation(program, place, name);
  gl.linkProgram(program);
  return program;
}

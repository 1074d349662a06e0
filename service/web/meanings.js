// Explanations of numbers, shown as tooltips.

export const MEANINGS = {
  inSample:
    "Each row of the fit gets the class that the other rows suggest. The share of right answers is taken in each class, then averaged, so that a large class does not hide a small one.",
  heldOut:
    "The fit is repeated several times without a part of the rows, and judged on that part. The share of right answers is taken in each class, then averaged over the classes.",
  interval: "The true share for new rows of this kind lies in this interval with the stated confidence.",
  chance: "What guessing would reach on average.",
  separation:
    "The Cauchy-Schwarz divergence of the densities of the classes: 0 where they coincide, larger the less they overlap. It has no upper end.",
  pValue: "How often fits to shuffled classes do at least as well. Below .05 is hard to explain by chance.",
  probability: "The class' share of the densities of all classes at this place, weighted by the class probabilities.",
  ceiling: "What a strong classifier reaches on the same folds with all columns. It draws no picture.",
  weight: "How far one standard deviation of this column moves a row along the axis.",
  jointWeight: "How far the categories of this column together move a row along the axis. It has no direction.",
  correlation: "The correlation of this column with the axis: 1 is the same order, −1 the opposite, 0 no relation.",
  jointCorrelation: "The multiple correlation of the categories of this column with the axis, from 0 to 1.",
  accuracyDrop: "What held-out balanced accuracy loses when the values of this column are shuffled among the rows.",
  divergenceDrop: "What the separation loses when the values of this column are shuffled among the rows.",
  difference: "The difference of the means in standard deviations (Hedges' g), with its 95 % interval.",
  shareDifference: "The difference of the shares (Cohen's h): about .2 is small, .5 medium, .8 large.",
};

"""
Looking at the objective
========================

The search maximizes the divergence of the class densities. Here it is drawn as a function of the direction.
"""

# %%
# With two columns and one component the projection is an angle, so the whole objective is one curve.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from melm import Divergence

wine = load_wine(as_frame=True)
X = StandardScaler().fit_transform(wine.data[["flavanoids", "color_intensity"]])
y = wine.target
objective = Divergence(X, y, n_components=1)
angles = np.linspace(0, np.pi, 181)
directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (181, 2)
values = np.array([objective.value(direction[:, None]) for direction in directions])

# %%
# The curve has two maxima. Which one a climb reaches depends on its start, so there are several starts.
best = directions[values.argmax()]
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].plot(np.degrees(angles), values)
panels[0].set(xlabel="angle of the projection, degrees", ylabel="divergence")
panels[1].scatter(*X.T, c=y, cmap="viridis", s=15)
panels[1].axline((0, 0), tuple(best), color="black")
panels[1].set_title("rows, and the best direction")

# %%
# The gradient agrees with finite differences.
V = directions[40][:, None]
value, gradient = objective.value_and_gradient(V)
step = 1e-6 * np.array([[0.0], [1.0]])
print(gradient[1, 0], (objective.value(V + step) - objective.value(V - step)) / 2e-6)
